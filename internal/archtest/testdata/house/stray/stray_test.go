package stray

import "fmt"

// An example without an Output comment is compiled and never run.
func Example() {
	fmt.Println("not checked")
}
