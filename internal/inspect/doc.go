// Package inspect shows encoded messages of Thrift and Protobuf as text: a tree
// with a line for every part, the offset of the part in front. With a schema
// fields have names, enums theirs too; without one the tree says what the bytes
// alone tell.
//
//	Thrift binary protocol, 40 bytes
//	 0  binary message = call "search", sequence id 7
//	18  arguments of Shop.search
//	18    1: Search search
//	21      1: string text = "invisibili"
//
// What cannot be read ends the tree with a fault that has its code, offset and
// path. What can be read but does not fit the schema is remarked on beside it.
//
// Everything that comes from a message is shown so that it cannot upset a
// terminal. Output is bounded by [Options]; input is read to its end whatever
// is shown. The package opens no files and knows no IDL text and no terminal:
// the command decides about both.
package inspect
