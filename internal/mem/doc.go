// Package mem is the fence around unsafe memory access: reading and writing Go
// values by address, and viewing maps of one type as maps of another of the
// same shape. Engines see Go values through it only, as a [Pointer] and
// offsets that codec took from reflect.
//
// It knows nothing of schemas, programs or wire formats.
//
// # Invariants
//
// Callers keep these, tests named TestInvariantN show them, and nothing else
// in the package is assumed:
//
//  1. A Pointer points into a live Go object (or is nil and is not followed).
//     Adding an offset keeps it inside that object.
//  2. Loads and stores of N bytes are done at addresses whose type has those N
//     bytes, at the type's alignment: offsets come from reflect.StructField.Offset
//     and strides from reflect.Type.Size.
//  3. A pointer is stored into memory only with its Go type's pointer shape, through
//     an ordinary Go assignment, so that the compiler emits the write barrier.
//  4. A slice header that SetSlice writes has equal length and capacity, counted in
//     elements of the slice's own type, and its data pointer starts an array of at least that many.
//  5. A string made by StringOf shares memory that nobody writes again while
//     the string lives.
//  6. Memory cut from a pointer-free chunk by a Chunk never holds a Go pointer, is
//     aligned as asked, and is handed out once.
//  7. A map is viewed as map[K]V only if its key type has the same underlying
//     kind and size as K, its element type has the same size, alignment and
//     pointer shape as V, and SameMap found that reflect and the view agree on it.
//  8. Bytes of a buffer are stored and loaded by address only behind a comparison with
//     what remains of it, made with the same length that is then used.
package mem
