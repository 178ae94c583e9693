package rpc

// This file holds how a server that stops tells a client of HTTP/2. The GOAWAY of net/http names the last stream that it has
// seen, and streams that are on their way then are lost. So the server says first that it leaves, naming the highest stream
// there can be, as RFC 9113 (6.8) wants it, and net/http has its say when the client has been quiet.

// goAway is the frame that asks a client to open no more streams, and refuses none.
const goAway = "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00"

// The parts of HTTP/2 that tell where a frame may stand (RFC 9113, 4.1 and 6).
const (
	frameHead    = 9 // bytes: the length in three, the type, flags, and the stream in four
	typeAt       = 3
	headersFrame = 1
	pushPromise  = 5
	goAwayFrame  = 7
	continuation = 9
	flagsAt      = 4
	endHeaders   = 4
)

// farewell follows the frames that net/http writes, to find the place for one more. It is guarded by the mutex of its
// connection.
type farewell struct {
	head    [frameHead]byte
	have    int  // bytes of head
	left    int  // bytes of the frame behind head
	begun   bool // a frame has been written: the first one is not ours
	block   bool // a block of headers goes on in the next frame
	pending bool // to be said
	said    bool
}

// follow notes that b is written.
func (f *farewell) follow(b []byte) {
	for len(b) > 0 {
		if f.have == frameHead {
			n := min(len(b), f.left)
			b = b[n:]
			f.left -= n
		} else {
			n := copy(f.head[f.have:], b)
			b = b[n:]
			if f.have += n; f.have < frameHead {
				return
			}
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		}
		if f.left == 0 {
			f.begun, f.have = true, 0
			switch f.head[typeAt] {
			case headersFrame, pushPromise, continuation:
				f.block = f.head[flagsAt]&endHeaders == 0
			case goAwayFrame: // of net/http: none may follow that names a higher stream
				f.said = true
			}
		}
	}
}

// between tells whether a frame may be written now.
func (f *farewell) between() bool { return f.begun && f.have == 0 && !f.block }

// sayBye says that the server leaves, once, if it is to be said and may be. g.mu is held.
func (g *gatheredConn) sayBye() {
	if f := g.bye; f.pending && !f.said && f.between() && g.over() == nil {
		f.said = true
		g.enqueue([]byte(goAway))
	}
}

// leave tells the client that the server leaves.
func (g *gatheredConn) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bye.pending = true
	g.sayBye()
}
