package enter

// StackSize is the number of bytes of stack that code may use. The assembly
// holds the same number.
const StackSize = 2048

// DeepStackSize is the number of bytes that code may use which CallDeep enters. A goroutine that
// has not used as much before gets a larger stack for it.
const DeepStackSize = 32 << 10

// Words is the number of words of a Block.
const Words = 32

// Block is what Go and code tell each other. Who makes code says what its words
// are; none of them is a Go pointer (invariant 3).
type Block [Words]uint64
