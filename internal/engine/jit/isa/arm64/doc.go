// Package arm64 is the portable machine in the instructions of arm64: those of
// every such processor, with its vector registers for bulk copies. It runs on
// any host.
//
// The portable registers are X0 to X11. X12 to X17 and V0 to V3 serve the
// operations themselves; X18, X28 (Go's g), X29 and the stack pointer are left
// alone, and X30 holds the return address.
package arm64
