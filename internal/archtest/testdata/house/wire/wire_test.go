package wire_test

import (
	"fmt"
	"os"
	"testing"

	"example.com/house/codec"
	"example.org/heavy"
	"example.org/oracle/sub"
)

var calls int

func TestFree(t *testing.T) {
	calls++
	_ = os.Getenv("HOME")
	_, _, _ = codec.New, heavy.X, oracle.Y
}

func Example() {
	fmt.Println("shown")
	// Output: shown
}
