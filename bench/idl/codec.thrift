// The shapes of the codec suite. Leaf, Branch and Tree are the small, medium
// and large values; the others each stress one kind of field.
namespace go shapes

enum Kind {
    PLAIN = 0,
    RARE = 1,
    GONE = 2,
}

struct Leaf {
    1: i8 level,
    2: i64 id,
    3: double weight,
    4: i32 count,
    5: string label,
    6: binary payload,
    7: Kind kind,
}

struct Branch {
    1: string label,
    2: list<Leaf> leaves,
    3: double weight,
    4: i32 count,
    5: list<i32> counts,
    6: i64 id,
    7: map<string, string> labels,
    8: Leaf leaf,
    9: map<i32, i64> totals,
    10: list<string> names,
    11: binary payload,
    12: map<i64, string> namesById,
    13: list<i64> ids,
    14: i8 level,
    15: map<string, Leaf> leavesByName,
}

struct Tree {
    1: map<Leaf, Branch> branchesByLeaf,
    2: Leaf leaf,
    3: i8 level,
    4: double weight,
    5: list<Branch> branches,
    6: i64 id,
    7: Branch branch,
    8: binary payload,
    9: string label,
    11: i32 count,
}

struct Scalars {
    1: i64 f1,
    2: i32 f2,
    3: double f3,
    4: i16 f4,
    5: bool f5,
    6: i64 f6,
    7: i32 f7,
    8: i8 f8,
    9: double f9,
    10: i64 f10,
    11: i64 f11,
    12: i32 f12,
    13: double f13,
    14: i16 f14,
    15: bool f15,
    16: i64 f16,
    17: i32 f17,
    18: i8 f18,
    19: double f19,
    20: i64 f20,
    21: i64 f21,
    22: i32 f22,
    23: double f23,
    24: i16 f24,
    25: bool f25,
    26: i64 f26,
    27: i32 f27,
    28: i8 f28,
    29: double f29,
    30: i64 f30,
    31: i64 f31,
    32: i32 f32,
    33: double f33,
    34: i16 f34,
    35: bool f35,
    36: i64 f36,
    37: i32 f37,
    38: i8 f38,
    39: double f39,
    40: i64 f40,
}

struct Strings {
    1: string s1,
    2: string s2,
    3: string s3,
    4: string s4,
    5: string s5,
    6: string s6,
    7: string s7,
    8: string s8,
    9: string s9,
    10: string s10,
    11: string s11,
    12: string s12,
    13: string s13,
    14: string s14,
    15: string s15,
    16: string s16,
    17: list<string> words,
    18: optional string note,
    19: optional string missing,
}

struct Deep {
    1: i32 level,
    2: string name,
    3: list<i64> ids,
    4: optional Deep inner,
    5: double weight,
}

struct Maps {
    1: map<string, i64> counts,
    2: map<i32, string> names,
    3: map<string, string> labels,
    4: map<i64, double> weights,
    5: map<string, Leaf> leaves,
    6: map<string, list<i32>> groups,
}

struct ListI64 {
    1: list<i64> values,
}
