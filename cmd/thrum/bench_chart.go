package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
)

// This file draws the result of "thrum bench" as SVG: three panels, of latency by
// percentile, and of throughput and latency over time.

// Measures of the chart, in pixels.
const (
	chartWidth   = 820
	chartLeft    = 80 // of the plots
	chartRight   = 30
	plotWidth    = chartWidth - chartLeft - chartRight
	plotHeight   = 180
	panelHeight  = plotHeight + 90
	chartHeading = 60
)

// The colours of lines.
const (
	colorMain = "#1f6feb"
	colorHigh = "#d9730d"
	colorMax  = "#8b949e"
	colorGrid = "#d8dee4"
	colorText = "#24292f"
)

// point is a place in the values of a plot.
type point struct{ x, y float64 }

// line is one line of a plot.
type line struct {
	name, color string
	points      []point
}

// step adds the value of a second, from its start to its end.
func (l *line) step(s load.Second, v float64) {
	l.points = append(l.points, point{(s.At - s.Length).Seconds(), v}, point{s.At.Seconds(), v})
}

// plot is one panel: its scales map values to 0..1.
type plot struct {
	title  string
	x, y   scale
	lines  []line
	filled bool // the area below the first line
}

// scale is an axis.
type scale struct {
	label string
	at    func(v float64) float64
	ticks []tick
}

type tick struct {
	value float64
	text  string
}

// chart draws the result.
func (r *benchReport) chart() []byte {
	plots := []plot{r.percentilePlot()}
	if len(r.Result.Series) > 0 {
		plots = append(plots, r.throughputPlot(), r.latencyPlot())
	}
	var b bytes.Buffer
	height := chartHeading + len(plots)*panelHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12" fill="%s">`+"\n",
		chartWidth, height, chartWidth, height, colorText)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString("thrum bench: "+r.title()))
	fmt.Fprint(&b, `<rect width="100%" height="100%" fill="white"/>`+"\n")
	chartText(&b, 20, 26, `font-size="15" font-weight="bold"`, r.title())
	res := r.Result
	chartText(&b, 20, 46, "", fmt.Sprintf("%s; %s replies per second, %s failed; %s", r.mode(), number(int64(res.Throughput+0.5)), number(res.Failed()), r.Started.Format(time.DateOnly)))
	for i := range plots {
		plots[i].draw(&b, chartHeading+i*panelHeight)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// percentilePlot is latency by percentile; each step to the right leaves a tenth
// of the calls.
func (r *benchReport) percentilePlot() plot {
	l := line{name: "latency", color: colorMain}
	nines := 1.0
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for _, p := range r.Result.Percentiles {
		x := -math.Log10(1 - p.Percent/100)
		l.points = append(l.points, point{x, float64(p.Latency)})
		nines = max(nines, x)
		low, high = min(low, p.Latency), max(high, p.Latency)
	}
	x := scale{label: "percentile", at: func(v float64) float64 { return v / nines }}
	for n := 0.0; n <= nines+0.01; n++ {
		x.ticks = append(x.ticks, tick{n, fmt.Sprintf("%g%%", 100-100/math.Pow(10, n))})
		if n == 0 {
			x.ticks = append(x.ticks, tick{math.Log10(2), "50%"})
		}
	}
	return plot{title: "Latency by percentile", x: x, y: latencyScale(low, high), lines: []line{l}}
}

// throughputPlot is replies per second over time.
func (r *benchReport) throughputPlot() plot {
	good, bad := line{name: "replies/s", color: colorMain}, line{name: "failed/s", color: colorHigh}
	most := 1.0
	for _, s := range r.Result.Series {
		seconds := max(s.Length.Seconds(), 1e-9)
		good.step(s, float64(s.Replies)/seconds)
		bad.step(s, float64(s.Errors)/seconds)
		most = max(most, float64(s.Replies)/seconds, float64(s.Errors)/seconds)
	}
	y := scale{}
	step := niceStep(most / 4)
	top := step * math.Ceil(most/step)
	y.at = func(v float64) float64 { return v / top }
	for v := 0.0; v <= top+step/2; v += step {
		y.ticks = append(y.ticks, tick{v, number(int64(math.Round(v)))})
	}
	lines := []line{good}
	if r.Result.Failed() > 0 {
		lines = append(lines, bad)
	}
	return plot{title: "Replies per second", x: r.timeScale(), y: y, lines: lines, filled: true}
}

// latencyPlot is latency over time.
func (r *benchReport) latencyPlot() plot {
	lines := []line{{name: "p50", color: colorMain}, {name: "p99", color: colorHigh}, {name: "max", color: colorMax}}
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range r.Result.Series {
		if s.Max == 0 { // nothing came
			continue
		}
		for i, d := range []time.Duration{s.P50, s.P99, s.Max} {
			lines[i].step(s, float64(d))
			low, high = min(low, d), max(high, d)
		}
	}
	return plot{title: "Latency of each second", x: r.timeScale(), y: latencyScale(low, high), lines: lines}
}

// timeScale is the time that was measured.
func (r *benchReport) timeScale() scale {
	end := max(r.Result.Elapsed.Seconds(), 0.001)
	s := scale{label: "seconds", at: func(v float64) float64 { return v / end }}
	step := niceStep(end / 10)
	for v := 0.0; v <= end+step/100; v += step {
		s.ticks = append(s.ticks, tick{v, fmt.Sprintf("%.4g", v)})
	}
	return s
}

// latencyScale is logarithmic, from a power of ten to another.
func latencyScale(low, high time.Duration) scale {
	if low > high {
		low, high = time.Microsecond, time.Millisecond
	}
	from := math.Floor(math.Log10(max(float64(low), 1)))
	to := max(math.Ceil(math.Log10(max(float64(high), 1))), from+1)
	s := scale{at: func(v float64) float64 { return (math.Log10(max(v, 1)) - from) / (to - from) }}
	for e := from; e <= to; e++ {
		s.ticks = append(s.ticks, tick{math.Pow(10, e), plainLatency(time.Duration(math.Pow(10, e)))})
	}
	return s
}

// plainLatency renders a power of ten.
func plainLatency(d time.Duration) string {
	if d >= 1000*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.String()
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not
// below v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(v, 1e-6))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// draw draws the panel whose top is at y.
func (p *plot) draw(b *bytes.Buffer, y int) {
	chartText(b, chartLeft, y+20, `font-weight="bold"`, p.title)
	top, bottom := float64(y+34), float64(y+34+plotHeight)
	place := func(v point) (px, py float64) {
		clamp := func(f float64) float64 { return min(max(f, 0), 1) }
		return chartLeft + plotWidth*clamp(p.x.at(v.x)), bottom - plotHeight*clamp(p.y.at(v.y))
	}
	for _, t := range p.y.ticks {
		_, py := place(point{0, t.value})
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s"/>`+"\n", chartLeft, py, chartLeft+plotWidth, py, colorGrid)
		chartText(b, chartLeft-8, py+4, `text-anchor="end"`, t.text)
	}
	for _, t := range p.x.ticks {
		px, _ := place(point{t.value, 0})
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", px, top, px, bottom, colorGrid)
		chartText(b, px, bottom+16, `text-anchor="middle"`, t.text)
	}
	chartText(b, chartLeft+plotWidth, bottom+32, `text-anchor="end"`, p.x.label)
	for i, l := range p.lines {
		p.drawLine(b, &l, place, i == 0 && p.filled, bottom)
		if len(p.lines) > 1 {
			x := float64(chartLeft + plotWidth - 90*(len(p.lines)-i))
			fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="12" height="3" fill="%s"/>`+"\n", x, y+15, l.color)
			chartText(b, x+17, float64(y+20), "", l.name)
		}
	}
}

// drawLine draws one line, as a dot if it is one point.
func (p *plot) drawLine(b *bytes.Buffer, l *line, place func(point) (x, y float64), filled bool, bottom float64) {
	if len(l.points) == 0 {
		return
	}
	if len(l.points) == 1 {
		x, y := place(l.points[0])
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, l.color)
		return
	}
	var path bytes.Buffer
	for i, v := range l.points {
		x, y := place(v)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
	}
	if filled {
		first, _ := place(l.points[0])
		last, _ := place(l.points[len(l.points)-1])
		fmt.Fprintf(b, `<path d="%sL%.1f %.1fL%.1f %.1fZ" fill="%s" fill-opacity="0.12"/>`+"\n", path.Bytes(), last, bottom, first, bottom, l.color)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round"/>`+"\n", path.Bytes(), l.color)
}

// chartText writes text at a place.
func chartText[N int | float64](b *bytes.Buffer, x, y N, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(b, `<text x="%v" y="%v"%s>%s</text>`+"\n", trim(float64(x)), trim(float64(y)), attributes, html.EscapeString(text))
}

// trim renders a coordinate.
func trim(v float64) string { return fmt.Sprintf("%.4g", v) }
