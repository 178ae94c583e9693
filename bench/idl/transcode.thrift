// The shapes of the transcode suite. The service is there because dynamicgo
// and Kitex's generic calls reach types through the argument of a method.
namespace go convert

struct Simple {
    1: byte byteField,
    2: i64 i64Field,
    3: double doubleField,
    4: i32 i32Field,
    5: string stringField,
    6: binary binaryField,
}

struct Nesting {
    1: string text,
    2: list<Simple> listSimple,
    3: double number,
    4: i32 int32,
    5: list<i32> listI32,
    6: i64 int64,
    7: map<string, string> mapStringString,
    8: Simple simple,
    9: map<i32, i64> mapI32I64,
    10: list<string> listString,
    11: binary bytes,
    12: map<i64, string> mapI64String,
    13: list<i64> listI64,
    14: byte int8,
    15: map<string, Simple> mapStringSimple,
}

struct Nestings {
    1: list<Nesting> all,
}

struct Deep {
    1: string name,
    2: i64 number,
    3: optional Deep next,
}

service Shapes {
    void small(1: Simple value)
    void medium(1: Nesting value)
    void large(1: Nestings value)
    void deep(1: Deep value)
}
