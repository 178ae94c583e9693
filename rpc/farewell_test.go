package rpc

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// frameOf returns a frame of HTTP/2.
func frameOf(kind, flags byte, size int) string {
	return string([]byte{byte(size >> 16), byte(size >> 8), byte(size), kind, flags, 0, 0, 0, 1}) + strings.Repeat("\xff", size)
}

// Whenever a server is told to leave, its frame stands between two others, behind the first one, and parts no block of headers.
func TestTheFarewellStandsBetweenFrames(t *testing.T) {
	const kinds = 2 // of writes, with short and long pieces
	var all [kinds]string
	var ends [kinds][]int // of frames
	places := map[string]bool{}
	for i, size := range []int{60, gatheredPiece} {
		frames := []string{
			frameOf(4, 0, 36), frameOf(1, endHeaders, 9), frameOf(0, 0, size), frameOf(1, 0, 40), frameOf(continuation, 0, 0),
			frameOf(continuation, endHeaders, 7), frameOf(8, 0, 4), frameOf(0, 1, 0),
			frameOf(pushPromise, 0, 12), frameOf(continuation, endHeaders, 3),
		}
		for at := range frames {
			ends[i] = append(ends[i], len(strings.Join(frames[:at+1], "")))
		}
		for _, j := range []int{1, 2, 3, 6, 7, 8, 10} {
			places[strings.Join(frames[:j], "")+goAway+strings.Join(frames[j:], "")] = true
		}
		all[i] = strings.Join(frames, "")
	}
	found := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(600) {
			random, all, ends := rand.New(rand.NewPCG(seed, 3)), all[seed%kinds], ends[seed%kinds]
			ours, theirs := net.Pipe()
			g := newGatheredConn(newSocket(ours, new(transport.Pool)), new(bufferPool), 0)
			g.bye = &farewell{}
			got := make(chan string)
			go func() {
				var b strings.Builder
				for piece := make([]byte, 4096); ; {
					n, err := theirs.Read(piece)
					b.Write(piece[:n])
					if err != nil {
						got <- b.String()
						return
					}
				}
			}()
			when := max(0, ends[random.IntN(len(ends))]-random.IntN(12))
			for at := 0; at < len(all) || when >= 0; {
				if at >= when && when >= 0 {
					g.leave()
					g.leave()
					when = -1
				}
				next := at + random.IntN(40)
				if random.IntN(2) == 0 { // as net/http mostly does
					next = ends[random.IntN(len(ends))]
				}
				next = min(max(next, at), len(all))
				put(t, g, []byte(all[at:next]))
				at = next
			}
			synctest.Wait()
			g.Close()
			text := <-got
			if !places[text] {
				t.Fatalf("seed %d: the frame stands at %d of %d bytes", seed, strings.Index(text, goAway), len(text))
			}
			found[text] = true
		}
	})
	if len(found) < len(places) {
		t.Errorf("only %d of %d places were tried", len(found), len(places))
	}
}

// What net/http has said names the streams that it has seen, and clients take no higher number after that.
func TestTheFarewellDoesNotFollowThatOfNetHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, 0)
		g.bye = &farewell{}
		text := frameOf(4, 0, 6) + frameOf(goAwayFrame, 0, 8)
		go func() {
			put(t, g, []byte(text))
			g.leave()
			put(t, g, []byte(frameOf(0, 1, 0)))
			synctest.Wait()
			g.Close()
		}()
		if b, err := io.ReadAll(peer); string(b) != text+frameOf(0, 1, 0) {
			t.Errorf("% x, %v", b, err)
		}
	})
}
