package transport

import "strconv"

// ContentType says in which format a message's body is written, with the
// numbers that tRPC has.
type ContentType uint32

const (
	Protobuf    ContentType = 0
	JCE         ContentType = 1
	JSON        ContentType = 2
	FlatBuffers ContentType = 3
	Plain       ContentType = 4 // bytes that nobody looks into
	XML         ContentType = 5
	Thrift      ContentType = 6
)

var contentTypeNames = [...]string{"protobuf", "jce", "json", "flatbuffers", "plain bytes", "xml", "thrift"}

// String returns the format's name, such as "flatbuffers".
func (t ContentType) String() string {
	if int64(t) < int64(len(contentTypeNames)) {
		return contentTypeNames[t]
	}
	return "content type " + strconv.FormatUint(uint64(t), 10)
}

var subtypes = [...]string{"proto", "jce", "json", "flatbuffers", "bytes", "xml", "thrift"}

// Subtype returns the format's name behind the "+" of media types such as
// application/grpc+flatbuffers, "" if it has none.
func (t ContentType) Subtype() string {
	if int64(t) < int64(len(subtypes)) {
		return subtypes[t]
	}
	return ""
}

// ParseSubtype undoes Subtype.
func ParseSubtype(name string) (ContentType, bool) {
	for t, known := range subtypes {
		if known == name {
			return ContentType(t), true
		}
	}
	return 0, false
}
