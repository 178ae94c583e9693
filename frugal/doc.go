// Package frugal has the function names, signatures and options of
// github.com/cloudwego/frugal over Thrum's codec: a user changes one import
// path. Package codec says what tags and Go types mean; new code should use
// that package, which has typed handles and options.
//
// Struct tags, Go types, wire types and the meaning of messages are Frugal's
// (its release 0.3.1, and the signatures of older ones). What differs:
//
//   - Nothing panics. Truncated and malformed input, types that cannot be encoded and nil
//     pointers are errors. [EncodedSize] has no error to return: it returns 0, and [EncodeObject] tells why.
//   - Nothing leaks between messages. Frugal fills map<K, struct> by value from
//     reused memory, so that an entry can hold a field of another message.
//   - Sizes are exact for every type; Frugal's are nonsense for lists of
//     structs by value.
//   - Nesting is limited to codec.DefaultMaxDepth levels on encoding too, so
//     that a cycle is an error and not the end of the stack.
//   - EncodeObject hands large strings and binaries to a NocopyWriter, as
//     documented and as Frugal did until 0.2; now it ignores the writer.
//   - A buffer too short for the value is an error before anything is lost:
//     EncodeObject never writes past it and never moves to another one.
//   - Fields are written in the order of their declaration, not those of fixed size
//     first. The order has no meaning in Thrift.
//   - A tag may call a struct as it likes; Frugal wants its Go name.
//   - Errors are *codec.TypeError or *diag.Fault, with code, offset and path;
//     texts differ.
//
// The options have no effect, as in Frugal since 0.2: they were for its
// compiler to machine code.
//
// All functions are safe for concurrent use.
package frugal
