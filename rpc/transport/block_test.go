package transport

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

func TestViewsKeepTheirBytesWhileMoreIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	type view struct {
		at    int
		bytes []byte
		block *Block
	}
	var (
		pool  Pool
		in    = NewReader(iotest.HalfReader(bytes.NewReader(data)), &pool)
		views []view
		at    int
	)
	check := func(v view) {
		if !bytes.Equal(v.bytes, data[v.at:v.at+len(v.bytes)]) {
			t.Fatalf("the view of %d bytes at %d has changed", len(v.bytes), v.at)
		}
		v.block.Release()
	}
	for at < len(data) {
		want := min(1+r.IntN(1+r.IntN(40_000)), len(data)-at)
		for len(in.Bytes()) < want {
			if err := in.Fill(want); err != nil {
				t.Fatal(err)
			}
		}
		b, block := in.Take(want)
		views = append(views, view{at, b, block})
		at += want
		for len(views) > 20 { // release in another order than taken
			i := r.IntN(len(views))
			check(views[i])
			views = append(views[:i], views[i+1:]...)
		}
	}
	if err := in.Fill(1); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	in.Close()
	for _, v := range views {
		check(v)
	}
}

func TestNoMemoryIsReservedForALengthThatIsOnlyClaimed(t *testing.T) {
	var pool Pool
	in := NewReader(iotest.OneByteReader(bytes.NewReader(make([]byte, 50_000))), &pool)
	for range 50_000 {
		if err := in.Fill(1 << 30); err != nil {
			t.Fatal(err)
		}
		if have, size := len(in.Bytes()), len(in.block.buf); size > max(WideBlock, 5*have) {
			t.Fatalf("a block of %d bytes for %d that arrived", size, have)
		}
	}
}

// Without frames, each byte tells only that one more is needed.
func TestALargeMessageIsCopiedAFewTimesHoweverItArrives(t *testing.T) {
	for name, ahead := range map[string]int{"framed": 1 << 20, "unframed": 1} {
		var pool Pool
		in := NewReader(iotest.OneByteReader(bytes.NewReader(make([]byte, 1<<20))), &pool)
		blocks := map[*Block]bool{}
		for i := range 1 << 20 {
			if err := in.Fill(min(i+ahead, 1<<20)); err != nil {
				t.Fatal(err)
			}
			blocks[in.block] = true
		}
		if len(blocks) > 10 {
			t.Errorf("%s: %d blocks", name, len(blocks))
		}
	}
}

func TestAnUnsharedBlockIsUsedAgain(t *testing.T) {
	var pool Pool
	in := NewReader(iotest.OneByteReader(bytes.NewReader(make([]byte, 100_000))), &pool)
	if err := in.Fill(0); err != nil {
		t.Fatal(err)
	}
	first := in.block
	for range 99_999 {
		_, block := in.Take(1)
		block.Release()
		if err := in.Fill(0); err != nil {
			t.Fatal(err)
		}
	}
	if in.block != first {
		t.Error("the reader changed its block though nobody kept a view")
	}
}

func TestALargeMessageFindsTheBlockOfTheLastOne(t *testing.T) {
	const size = 1<<20 + 4
	var pool Pool
	in := NewReader(bytes.NewReader(make([]byte, 20*size)), &pool)
	fresh := 0
	for range 20 {
		var last *Block
		for len(in.Bytes()) < size {
			if err := in.Fill(size); err != nil {
				t.Fatal(err)
			}
			if in.block != last {
				last = in.block
				fresh++
			}
		}
		_, block := in.Take(size)
		block.Release()
	}
	if fresh > 60 { // two for each message, once the pool has one
		t.Errorf("%d blocks for 20 messages", fresh)
	}
}

func TestBlocksAreAtMostAQuarterLargerThanAskedFor(t *testing.T) {
	seen := map[int]int{}
	for size := 1; size <= largestKept; size += 1 + size/37 {
		class, rounded := classOf(size)
		if rounded < size || size > BlockSize && rounded > size+size/4 {
			t.Fatalf("a block of %d bytes for %d", rounded, size)
		}
		if class < 0 || class >= classes {
			t.Fatalf("class %d for %d bytes", class, size)
		}
		if known, ok := seen[class]; ok && known != rounded {
			t.Fatalf("class %d has blocks of %d and %d bytes", class, known, rounded)
		}
		if again, same := classOf(rounded); again != class || same != rounded {
			t.Fatalf("a block of %d bytes, of class %d, goes back to class %d", rounded, class, again)
		}
		seen[class] = rounded
	}
	if class, _ := classOf(largestKept + 1); class != -1 {
		t.Errorf("class %d beyond the largest block", class)
	}
}

func TestAReaderThatYieldsHoldsNoBlock(t *testing.T) {
	var pool Pool
	in := NewReader(bytes.NewReader([]byte("abcdef")), &pool)
	if err := in.Fill(0); err != nil {
		t.Fatal(err)
	}
	view, block := in.Take(4)
	if in.Yield(); in.block == nil {
		t.Fatal("the block went though two bytes are left")
	}
	_, other := in.Take(2)
	other.Release()
	if in.Yield(); in.block != nil || string(view) != "abcd" {
		t.Errorf("block %v, view %q", in.block, view)
	}
	block.Release()
}

func TestAReadErrorComesAfterTheBytesBeforeIt(t *testing.T) {
	var pool Pool
	in := NewReader(iotest.DataErrReader(bytes.NewReader([]byte("abc"))), &pool)
	if err := in.Fill(0); err != nil || string(in.Bytes()) != "abc" {
		t.Errorf("first: %q, %v", in.Bytes(), err)
	}
	if err := in.Fill(0); !errors.Is(err, io.EOF) {
		t.Errorf("then: %v", err)
	}
}

func TestACopyIsAViewOfItsOwn(t *testing.T) {
	var pool Pool
	b := []byte("a message")
	first, one := pool.Copy(b)
	second, two := pool.Copy(b)
	b[0], first[2] = 'A', 'M'
	if string(second) != "a message" || string(first) != "a Message" || cap(first) != len(first) {
		t.Errorf("%q and %q share memory", first, second)
	}
	one.Release()
	two.Release()
}
