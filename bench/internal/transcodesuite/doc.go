// Package transcodesuite is the suite "transcode": messages converted between
// JSON and Thrift, and between JSON and Protobuf, by a schema, ours against dynamicgo, against sonic with the
// FastCodec that the kitex tool generates, and against Kitex's generic calls.
//
// What a ratio means here:
//
//   - Every contestant of a work reads the same bytes. Thrift messages have
//     their fields in the order of the ids, but for the shape kitex-order, whose
//     structs have the fields of fixed size first, as FastCodec writes them.
//   - What can be compiled ahead (descriptors, converters, sonic's encoders and
//     decoders) is compiled ahead on all sides.
//   - Output goes to a reused buffer where a contestant has a form for that:
//     ours, dynamicgo (DoInto), sonic's encoder (EncodeInto), FastCodec and the
//     writing side of Kitex. sonic-fastcodec fills a fresh struct in between.
//   - dynamicgo-new is dynamicgo by Do, which returns new memory.
//   - kitex-generic is the JSON generic call with Kitex's own conversion, that
//     by maps: it reads and writes the argument of a method, in which the value
//     stands as the one field. Kitex can use dynamicgo instead; that is the
//     contestant dynamicgo.
//   - limit is the same work written by hand for the type, with the kernels of
//     wire/jsonwire and the same checks of what stands in the message.
//
// The works json-to-protobuf and protobuf-to-json have the same values. Their
// peers are dynamicgo, protojson with dynamicpb, and, to JSON, hyperpb, whose
// messages protojson writes. protojson writes 64-bit integers as strings, the
// others as numbers; a fresh message stands in between, in hyperpb's case one
// of memory that is reused.
//
// Before anything is timed the results are compared: messages apart from the
// order of fields and map entries, JSON by what encoding/json reads.
package transcodesuite
