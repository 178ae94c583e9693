package harness

import (
	"bytes"
	"fmt"
	"html"
)

// Measures of the chart, in pixels.
const (
	chartWidth = 760
	labelWidth = 210
	barHeight  = 16
	barGap     = 4
	panelGap   = 30
)

// Chart draws a panel of bars per group of the report, as SVG: nanoseconds per
// operation, shorter is better. Ours are those that a ratio is told of.
func Chart(r *Report) []byte {
	height := 70
	for _, g := range r.Groups {
		height += panelGap + len(g.Results)*(barHeight+barGap)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	text(&b, 10, 22, "bold", fmt.Sprintf("%s: nanoseconds per operation, shorter is better", r.Suite))
	text(&b, 10, 40, "normal", fmt.Sprintf("%s, %s, %s/%s, %s", r.Date, r.Machine.CPU, r.Machine.GOOS, r.Machine.GOARCH, r.Machine.Go))
	y := 50
	for _, g := range r.Groups {
		y = panel(&b, &g, y)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// panel draws one group below y and returns where it ends.
func panel(b *bytes.Buffer, g *GroupReport, y int) int {
	ours := map[string]bool{}
	for _, r := range g.Ratios {
		ours[r.ours] = true
	}
	title := g.Work + " " + g.Shape
	if g.Parallel {
		title += ", parallel"
	}
	y += panelGap
	text(b, 10, y-8, "bold", title)
	longest := 0.0
	for _, r := range g.Results {
		longest = max(longest, r.NS)
	}
	for _, r := range g.Results {
		fill := "#9aa5b1"
		if ours[r.Name] {
			fill = "#1f6feb"
		}
		width := 0.0
		if longest > 0 {
			width = (chartWidth - labelWidth - 90) * r.NS / longest
		}
		text(b, 10, y+barHeight-4, "normal", r.Name)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, width, barHeight, fill)
		text(b, labelWidth+int(width)+6, y+barHeight-4, "normal", nanos(r.NS))
		y += barHeight + barGap
	}
	return y
}

func text(b *bytes.Buffer, x, y int, weight, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="%s">%s</text>`+"\n", x, y, weight, html.EscapeString(s))
}
