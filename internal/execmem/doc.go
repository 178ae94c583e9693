// Package execmem is the fence around executable memory: it puts finished
// machine code into pages of its own and gives them back. It does not know
// what the code does, who calls it, or any instruction set beyond the flush that
// arm64 needs.
//
// # Invariants
//
// Tests named TestInvariantN show them:
//
//  1. A page is writable or executable, never both: code is copied into
//     anonymous pages, which then lose the right to be written and gain that to be executed.
//  2. Pages live as long as their Code is reachable and are unmapped after
//     that. Whoever runs code keeps its Code alive across the call.
//  3. Code is what was given: before its address is handed out, the instruction
//     cache sees it (on arm64, which has no coherent one).
//
// Platforms that lack such memory, or that want a private entitlement for it
// (macOS on arm64), are not supported, and New says so.
package execmem
