// Package gen writes Go source from a schema: structs that package codec
// reads and writes, enums, constants, exceptions, service interfaces, clients
// and the method tables that a server registers.
//
// The output follows the conventions of Kitex's slim template, so that code
// written against one compiles against the other: names, struct tags, getters
// and constructors are the same where RATIONALE.md gives no reason to differ.
// It holds no codec: a generated package imports package rpc if it declares
// services, and otherwise only the standard library.
//
// # Streams
//
// A method with Kitex's annotation streaming.mode ("bidirectional", "client" or
// "server") streams over TTHeader: its messages are the one struct that it takes
// and the struct that it returns. Handlers and clients get the streams of package
// rpc/stream, as those of Kitex do. A client of a service that has such methods
// does not implement the service's interface, because its streams are the other side.
// fbthrift's stream<T> and sink<T> are left out.
//
// # FlatBuffers
//
// [FlatBuffers] writes Go from the schemas of FlatBuffers, without Google's compiler. For
// a table Monster with a field hp:
//
//   - Monster, with the accessors, functions and constants of Google's compiler:
//     GetRootAsMonster, Hp, MutateHp, MonsterStart, MonsterAddHp, LookupByKey and so on;
//   - MonsterT, the object form: NewMonsterT has the defaults of the schema, Pack writes
//     it and UnPack reads it, which copies; unions are AnyT with a Type and a Value,
//     AnyOfMonster and AsMonster;
//   - MonsterBuilder, to write a message field by field with types: what is required is
//     asked for by NewMonsterBuilder, what a field refers to has a type of its own
//     (flatbuf.Ref), and a table may be made while another one is;
//   - VerifyMonster and VerifierOfMonster, which check a message before it is read, and
//     UnmarshalMonster, which does so and unpacks.
//
// For a service Greeter there are GreeterHandler, which serves messages, and GreeterObjects, which
// serves objects, NewGreeterService and NewGreeterObjectsService, which make what
// a server registers, UnimplementedGreeter to embed, and GreeterClient and GreeterObjectsClient to
// call with; they stream in all directions. [FlatBuffersProject] and [ThriftProject] write
// whole projects around services.
//
// Arrays, vectors of unions, unions of structs and strings, defaults of strings and vectors,
// offsets and vectors of 64 bits, keys of every type, nested buffers (XNestedRoot) and FlexBuffers
// (XFlexRoot) are there, which Google's Go lacks.
//
// A name that is taken gets an underscore: the accessor of a field "init" is Init_, as every
// type has an Init. A type that is named like something that generated code uses gets
// one, too.
//
// # Mocks
//
// With [Mocks] a package shop that has services gets a package shopmock for tests. MockShop
// implements the service Shop: each method X records its call in XCalls and calls XFunc, which the
// test sets. Its method Client serves it in memory and returns the client that code under test
// takes, so that errors and streams are the real ones. For FlatBuffers MockGreeter serves
// objects, MockGreeterHandler messages, and MockGreeterClient stands in for the interface
// GreeterClient.
//
// # How the work is split
//
// Names are given out first, for all files at once (model.go, naming.go);
// then each file is rendered from the templates in templates/, which ask for
// types (types.go), values (values.go) and imports (imports.go) as they need
// them, so that a file imports what it uses and nothing else. internal/fbs does the
// same for FlatBuffers.
//
// The package must not know any IDL: what it prints comes from the schema.
package gen
