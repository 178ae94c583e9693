package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the formats of "thrum convert" and how one value goes from
// one to another.

// format is a format of "thrum convert": how values are encoded and what stands
// between them.
type format uint8

const (
	jsonFormat format = iota
	jsonArray
	binaryFormat
	binaryFramed
	compactFormat
	compactFramed
	fbthriftFormat
	fbthriftFramed
	protobufFormat
	protobufDelimited
	flatbuffersFormat
	flatbuffersPrefixed
)

var formatNames = [...]string{
	"json", "json-array", "binary", "binary-framed", "compact", "compact-framed",
	"compact-fbthrift", "compact-fbthrift-framed", "protobuf", "protobuf-delimited",
	"flatbuffers", "flatbuffers-prefixed",
}

// family is what formats have in common that need no schema between them.
type family uint8

const (
	familyJSON family = iota
	familyThrift
	familyProtobuf
	familyFlat
)

func (f format) family() family {
	switch {
	case f <= jsonArray:
		return familyJSON
	case f < protobufFormat:
		return familyThrift
	case f < flatbuffersFormat:
		return familyProtobuf
	default:
		return familyFlat
	}
}

// framed reports whether values have four bytes of length before them.
func (f format) framed() bool { return strings.HasSuffix(formatNames[f], "-framed") }

// base returns the format of the values, whatever stands between them.
func (f format) base() format { return f &^ 1 }

// dialect returns the compact protocol's, 0 if f is another format.
func (f format) dialect() compact.Dialect {
	switch f.base() {
	case compactFormat:
		return compact.Apache
	case fbthriftFormat:
		return compact.FBThrift
	default:
		return 0
	}
}

// maxDepth is the deepest nesting of values that are rewritten without a schema.
const maxDepth = 1024

// conversion converts values one after another.
type conversion struct {
	from, to format
	maxSize  int
	thrift   *transcode.Converter
	protobuf *transcode.ProtobufConverter
	bridge   *transcode.Bridge
	flat     map[format]*flatjson.Converter // by the format of the messages
	flatID   string                         // the file identifier of those messages, or ""
	entire   bool                           // the whole input is one value
	binary   []byte                         // a value on its way through another format
}

// compile makes the converters for values of type def, which a .proto file
// declares or a .thrift file.
func (k *conversion) compile(def *schema.StructDef, proto bool, opts []transcode.Option) (err error) {
	needs := func(f family) bool { return k.from.family() == f || k.to.family() == f }
	switch {
	case needs(familyProtobuf) != proto && k.from.family() != k.to.family():
		return usageError("Thrift's formats need a .thrift file and Protobuf's a .proto file")
	case proto:
		k.protobuf, err = transcode.NewProtobuf(def, opts...)
	default:
		k.thrift, err = transcode.New(def, opts...)
	}
	return err
}

// value appends one value, converted. A fault in it has an offset from its
// start, or -1 if that is not known.
func (k *conversion) value(dst, v []byte) (out []byte, err error) {
	switch from, to := k.from.family(), k.to.family(); {
	case from == familyThrift && to == familyThrift:
		return k.rewrite(dst, v)
	case from == familyThrift && to == familyJSON:
		return k.toJSON(dst, v)
	case from == familyJSON && to == familyThrift:
		if k.binary, err = k.thrift.AppendThrift(k.binary[:0], v); err != nil {
			return dst, err
		}
		return fromBinary(dst, k.binary, k.to.dialect())
	case from == familyThrift && to == familyProtobuf:
		return k.toProtobuf(dst, v)
	case from == familyProtobuf && to == familyThrift:
		if k.binary, err = k.bridge.AppendThrift(k.binary[:0], v); err != nil {
			return dst, err
		}
		return fromBinary(dst, k.binary, k.to.dialect())
	case from == familyProtobuf && to == familyJSON:
		return k.protobuf.AppendJSON(dst, v)
	case from == familyJSON && to == familyProtobuf:
		return k.protobuf.AppendProtobuf(dst, v)
	case k.flat != nil:
		return k.flatValue(dst, v)
	case from == familyJSON && k.protobuf != nil: // from JSON to JSON: read and written anew
		if k.binary, err = k.protobuf.AppendProtobuf(k.binary[:0], v); err != nil {
			return dst, err
		}
		return k.protobuf.AppendJSON(dst, k.binary)
	case from == familyJSON:
		if k.binary, err = k.thrift.AppendThrift(k.binary[:0], v); err != nil {
			return dst, err
		}
		out, _, err := k.thrift.AppendJSON(dst, k.binary)
		return out, unplaced(err)
	default:
		return append(dst, v...), nil
	}
}

// flatValue is value for FlatBuffers. Between its own two formats, which align
// differently, a message goes through JSON.
func (k *conversion) flatValue(dst, v []byte) (out []byte, err error) {
	from, to := k.flat[k.from], k.flat[k.to]
	if from == nil { // JSON
		if to != nil {
			return to.AppendMessage(dst, v)
		}
		from = k.flat[flatbuffersFormat]
		if k.binary, err = from.AppendMessage(k.binary[:0], v); err != nil {
			return dst, err
		}
		return from.AppendJSON(dst, k.binary)
	}
	if to == nil {
		out, err = from.AppendJSON(dst, v)
		return out, k.misread(v, err)
	}
	if k.binary, err = from.AppendJSON(k.binary[:0], v); err != nil {
		return dst, k.misread(v, err)
	}
	out, err = to.AppendMessage(dst, k.binary)
	return out, unplaced(err)
}

// rewrite appends a struct of one of Thrift's protocols in another.
func (k *conversion) rewrite(dst, v []byte) ([]byte, error) {
	from, to := k.from.dialect(), k.to.dialect()
	if from == to {
		return append(dst, v...), nil
	}
	if from == 0 {
		return fromBinary(dst, v, to)
	}
	if to == 0 {
		dst, n := from.AppendToBinary(dst, v, thriftwire.Struct, maxDepth)
		return dst, wireFault(n, -1)
	}
	var n int
	if k.binary, n = from.AppendToBinary(k.binary[:0], v, thriftwire.Struct, maxDepth); n < 0 {
		return dst, wireFault(n, -1)
	}
	return fromBinary(dst, k.binary, to)
}

// fromBinary appends a struct of the binary protocol in the compact one.
func fromBinary(dst, v []byte, to compact.Dialect) ([]byte, error) {
	if to == 0 {
		return append(dst, v...), nil
	}
	dst, n := to.AppendFromBinary(dst, v, thriftwire.Struct, maxDepth)
	if n == thriftwire.ErrType {
		return dst, diag.NewFault(diag.Unsupported, -1, "the value holds a type that the compact protocol of "+to.String()+" does not have")
	}
	return dst, wireFault(n, -1)
}

// toJSON appends a struct of Thrift's protocols as JSON.
func (k *conversion) toJSON(dst, v []byte) ([]byte, error) {
	d := k.from.dialect()
	if d == 0 {
		out, _, err := k.thrift.AppendJSON(dst, v)
		return out, err
	}
	var n int
	if k.binary, n = d.AppendToBinary(k.binary[:0], v, thriftwire.Struct, maxDepth); n < 0 {
		return dst, wireFault(n, -1)
	}
	out, _, err := k.thrift.AppendJSON(dst, k.binary)
	return out, unplaced(err)
}

// toProtobuf appends a struct of Thrift's protocols as a Protobuf message.
func (k *conversion) toProtobuf(dst, v []byte) ([]byte, error) {
	d := k.from.dialect()
	if d == 0 {
		out, _, err := k.bridge.AppendProtobuf(dst, v)
		return out, err
	}
	var n int
	if k.binary, n = d.AppendToBinary(k.binary[:0], v, thriftwire.Struct, maxDepth); n < 0 {
		return dst, wireFault(n, -1)
	}
	out, _, err := k.bridge.AppendProtobuf(dst, k.binary)
	return out, unplaced(err)
}

// unplaced takes the offset from a fault that does not stand in the input.
func unplaced(err error) error {
	if f := (*diag.Fault)(nil); errors.As(err, &f) {
		f.Offset = -1
	}
	return err
}

// wireFault is the fault for the negative result n of package thriftwire at
// offset, nil if there is none.
func wireFault(n, offset int) error {
	switch {
	case n >= 0:
		return nil
	case n == thriftwire.ErrEOF:
		return diag.NewFault(diag.UnexpectedEOF, offset, "the input ends inside a value")
	case n == thriftwire.ErrLength:
		return diag.NewFault(diag.InvalidLength, offset, "a length is negative or exceeds the limit")
	case n == thriftwire.ErrDepth:
		return diag.NewFault(diag.DepthLimit, offset, fmt.Sprintf("nested deeper than the limit of %d", maxDepth))
	case n == thriftwire.ErrData:
		return diag.NewFault(diag.InvalidData, offset, "bytes that no value of the type has")
	default:
		return diag.NewFault(diag.InvalidType, offset, "a wire type that does not exist")
	}
}

func isSizeLimit(err error) bool { return diag.CodeOf(err) == diag.SizeLimit }

// before returns what stands before value number i of the output, which has n bytes.
func (k *conversion) before(dst []byte, i int64, n int) ([]byte, error) {
	switch {
	case k.to == jsonArray && i == 0:
		return append(dst, '['), nil
	case k.to == jsonArray:
		return append(dst, ",\n"...), nil
	case k.to.framed():
		return binary.BigEndian.AppendUint32(dst, uint32(n)), nil
	case k.to == protobufDelimited:
		return protowire.AppendVarint(dst, uint64(n)), nil
	case k.to == protobufFormat && i > 0:
		return dst, errors.New("there are several values, and protobuf holds one; protobuf-delimited holds more")
	case k.to == flatbuffersFormat && i > 0:
		return dst, errors.New("there are several values, and flatbuffers holds one; flatbuffers-prefixed holds more")
	}
	return dst, nil
}

// end returns what stands after the last of n values.
func (k *conversion) end(n int64) string {
	switch {
	case k.to == jsonArray && n == 0:
		return "[]\n"
	case k.to == jsonArray:
		return "]\n"
	default:
		return ""
	}
}
