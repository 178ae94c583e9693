// The shapes of the suites on messages without Go structs. Simple and Nesting
// have the structure of the values that dynamicgo publishes its figures on;
// the Partial structs are what trimming leaves of the others.
namespace go messages

struct Simple {
    1: byte byteField
    2: i64 i64Field
    3: double doubleField
    4: i32 i32Field
    5: string stringField
    6: binary binaryField
}
struct PartialSimple {
    1: byte byteField
    3: double doubleField
    6: binary binaryField
}
struct Nesting {
    1: string string
    2: list<Simple> listSimple
    3: double double
    4: i32 i32
    5: list<i32> listI32
    6: i64 i64
    7: map<string, string> mapStringString
    8: Simple simple
    9: map<i32, i64> mapI32I64
    10: list<string> listString
    11: binary binary
    12: map<i64, string> mapI64String
    13: list<i64> listI64
    14: byte byte
    15: map<string, Simple> mapStringSimple
}
struct PartialNesting {
    2: list<PartialSimple> listSimple
    8: PartialSimple simple
    15: map<string, PartialSimple> mapStringSimple
}
struct Batch {
    1: string name
    2: list<Nesting> rows
    3: double weight
    4: map<string, Nesting> rowsByName
    5: Simple simple
}
struct PartialBatch {
    2: list<PartialNesting> rows
    4: map<string, PartialNesting> rowsByName
    5: PartialSimple simple
}
struct Deep {
    1: i32 level
    2: string name
    3: list<i64> ids
    4: optional Deep inner
    5: double weight
    6: binary payload
}
struct PartialDeep {
    1: i32 level
    4: optional PartialDeep inner
    6: binary payload
}
