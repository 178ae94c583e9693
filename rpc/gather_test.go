package rpc

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// The tests run in bubbles of testing/synctest over net.Pipe: a Write there waits until all of it is read, a Read
// returns bytes of one Write, and time passes only where a test waits for it.

// gathered returns a connection and the peer's end of it.
func gathered(t *testing.T, patience time.Duration) (*gatheredConn, net.Conn) {
	ours, theirs := net.Pipe()
	g := newGatheredConn(newSocket(ours, new(transport.Pool)), new(bufferPool), patience)
	t.Cleanup(func() {
		theirs.Close()
		g.Close()
	})
	return g, theirs
}

// put writes what must be taken whole.
func put(t *testing.T, w io.Writer, b []byte) {
	t.Helper()
	if n, err := w.Write(b); n != len(b) || err != nil {
		t.Fatalf("Write: %d of %d bytes, %v", n, len(b), err)
	}
}

// get reads once and expects these bytes.
func get(t *testing.T, r io.Reader, want string) {
	t.Helper()
	b := make([]byte, 1<<20)
	n, err := r.Read(b)
	if err != nil || string(b[:n]) != want {
		t.Fatalf("read %d bytes that start with %.20q, %v; want %d that start with %.20q", n, b[:n], err, len(want), want)
	}
}

func TestWhatIsWrittenWhileTheConnectionIsBusyLeavesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, 0)
		put(t, g, []byte("one"))
		synctest.Wait() // it is being written, and nobody reads
		for _, piece := range []string{"two", "", "three", "four"} {
			put(t, g, []byte(piece))
		}
		get(t, peer, "one")
		get(t, peer, "twothreefour")
		synctest.Wait()
		if g.queue != nil || g.writing {
			t.Error("memory or a goroutine is held though nothing is queued")
		}
	})
}

func TestWhoWritesMuchWaitsForThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, 0)
		const piece = 4 << 10
		taken := 0
		go func() {
			for {
				if _, err := g.Write(make([]byte, piece)); err != nil {
					return
				}
				taken += piece
			}
		}()
		synctest.Wait()
		if taken < gatherLimit || taken > 2*gatherLimit { // what waits, and what is being written
			t.Fatalf("%d bytes were taken of a connection that nobody reads", taken)
		}
		before := taken
		io.ReadFull(peer, make([]byte, gatherLimit))
		synctest.Wait()
		if taken <= before {
			t.Error("nothing more was taken when the peer had read")
		}
	})
}

func TestPiecesOfAnySizeKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(20) {
			g, peer := gathered(t, 0)
			random := rand.New(rand.NewPCG(seed, 7))
			var sent []byte
			got := make(chan []byte)
			go func() {
				b, _ := io.ReadAll(peer)
				got <- b
			}()
			for range 50 {
				size := random.IntN(300)
				if random.IntN(8) == 0 {
					size = random.IntN(3 * gatherLimit)
				}
				piece := make([]byte, size)
				for i := range piece {
					piece[i] = byte(random.Uint32())
				}
				put(t, g, piece)
				sent = append(sent, piece...)
				clear(piece) // it is the caller's again
			}
			synctest.Wait() // or Close might end a Write that waits for the peer
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if b := <-got; !bytes.Equal(b, sent) {
				t.Fatalf("seed %d: %d bytes arrived that differ from the %d that were sent", seed, len(b), len(sent))
			}
			if _, err := g.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write after Close: %v", err)
			}
		}
	})
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, time.Hour)
		g.writing = true // the goroutine that writes has not come far
		put(t, g, []byte("good"))
		put(t, g, []byte("bye"))
		go g.Close()
		get(t, peer, "goodbye")
		if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("behind it: %v", err)
		}
	})
}

// deaf is a connection that knows no deadlines.
type deaf struct{ net.Conn }

func (deaf) SetWriteDeadline(time.Time) error { return nil }

func TestCloseDoesNotWaitForAPeerThatDoesNotRead(t *testing.T) {
	for name, most := range map[string]time.Duration{"plain": 0, "deaf": 2 * closeTime} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				if name == "deaf" {
					ours = deaf{ours}
				}
				g := newGatheredConn(newSocket(ours, new(transport.Pool)), new(bufferPool), time.Hour)
				put(t, g, []byte("one"))
				synctest.Wait()
				put(t, g, []byte("two"))
				failed := make(chan error)
				go func() {
					_, err := g.Write(make([]byte, gatherLimit))
					failed <- err
				}()
				synctest.Wait()
				began := time.Now()
				g.Close()
				if took := time.Since(began); took > most {
					t.Errorf("Close took %v", took)
				}
				if err := <-failed; err == nil {
					t.Error("a Write that waited has not failed")
				}
				if _, err := theirs.Read(make([]byte, 8)); err != io.EOF {
					t.Errorf("the peer has %v and no end", err)
				}
			})
		})
	}
}

// polite is a connection that, like one of TLS, says that it ends, for which it waits.
type polite struct{ net.Conn }

func (p polite) Close() error {
	p.SetWriteDeadline(time.Now().Add(time.Hour))
	p.Write([]byte("bye"))
	return p.Conn.Close()
}

func TestAPeerThatDoesNotReadIsToldNothing(t *testing.T) {
	for name, end := range map[string]func(*gatheredConn){
		"at Close": func(g *gatheredConn) { g.Close() },
		"when time passes": func(g *gatheredConn) {
			time.Sleep(time.Second + 1)
			if !g.mu.TryLock() {
				panic("others must wait")
			}
			g.mu.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				sock := newSocket(polite{ours}, new(transport.Pool))
				sock.end = ours
				g := newGatheredConn(sock, new(bufferPool), time.Second)
				put(t, g, []byte("hello"))
				synctest.Wait()
				began := time.Now()
				end(g)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				g.Close()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A peer that reads slowly is served for as long as it reads, one that does not read loses the connection, which who waits
// for its answers is told of.
func TestThePeerHasTimeForEachByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, time.Second)
		g.SetWriteDeadline(time.Now().Add(time.Millisecond)) // as net/http does, which does not know better
		put(t, g, []byte("slowly"))
		for _, c := range "slowl" {
			time.Sleep(900 * time.Millisecond)
			b := make([]byte, 1)
			if _, err := peer.Read(b); err != nil || b[0] != byte(c) {
				t.Fatalf("read %q, %v", b, err)
			}
		}
		_, err := g.Read(make([]byte, 1))
		if !errors.Is(err, net.ErrClosed) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
		if _, err := g.Write([]byte("more")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write: %v", err)
		}
	})
}

func TestOneReadTakesAllThatHasArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, peer := gathered(t, 0)
		go peer.Write([]byte("one and two"))
		get(t, io.LimitReader(g, 3), "one")
		synctest.Wait()
		peer.Close() // all has been taken from it
		get(t, io.LimitReader(g, 5), " and ")
		get(t, g, "two")
		if _, err := g.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	})
}
