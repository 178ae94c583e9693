// Tool may read the environment.
package main

import "os"

func main() { os.Exit(len(os.Getenv("TOOL"))) }
