// Package enter is the fence through which Go calls machine code that was made
// at run time. It knows the calling convention and nothing of what the code does.
//
// # The convention
//
// Code is entered with the address of a [Block] in the first register of the
// portable machine (package asm), and two addresses in the second and third.
// It may use every register that Go's ABI0 lets assembly use, and StackSize
// bytes of stack, or DeepStackSize if CallDeep enters it. It returns a status.
// What else it has to say stands in the block.
//
// # Invariants
//
// Who makes or calls code keeps these; tests named TestInvariantN show them:
//
//  1. Code is a leaf: it calls no Go, and it never needs more stack than StackSize (or DeepStackSize).
//     Call is an ordinary assembly function with a frame of that size, so that the stack has grown before
//     the code runs, and Go's own stack maps describe all that is below.
//  2. p and q are real pointers: should the stack grow on the way in, they are
//     adjusted, so they may point anywhere. They are loaded after that.
//  3. Code stores no Go pointer but into its part of the stack, which the
//     collector does not look at and which are gone after the call. A Block has no
//     pointers: an address in it is a number that nobody follows later.
//  4. Code ends: the work of one call is bounded, because it cannot be preempted.
//  5. What the code was given is alive: whoever calls keeps its machine code, p, q and
//     all that they lead to reachable until Call has returned. No collection can end during a
//     call, so a pointer that code loads stays valid to the end of that call, and no longer.
//  6. Go's g register and its zero register are as Go expects when Call returns,
//     whatever the code did with them (on arm64 code leaves g alone).
package enter
