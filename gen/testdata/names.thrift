include "base.thrift"
include "types.thrift"
/* Names that Go, the standard library or the generator want for themselves. */
namespace go golden.type

struct error { 1: string error, 2: string String, 3: string string }
struct string_ { 1: i32 nil }
struct Name {
  1: string name
  2: string Name
  3: string GetName
  4: optional string get_name
  5: string SetName
  6: bool IsSetGetName
  7: i32 init_default
  8: i32 func
  9: i32 _hidden
  10: i32 Read
  11: string DeepEqual
}
struct NewName { 1: i32 a }
struct ShopArgs { 1: i32 a }
struct ShopClient { 1: i32 a }
struct ShopGetResult { 1: i32 a }
struct shop { 1: i32 b }
struct Kind_A { 1: i32 a }
struct KindPtr { 1: i32 a }
struct KindFromString { 1: i32 a }
struct rpc { 1: i32 a }
struct context { 1: i32 a }
struct fmt { 1: i32 a }
enum Kind { A = 0, type = 1, func = 2, nil = 3, B = 0 }
enum kind { A }
const i32 max_size = 4
const string MaxSize = "also"
typedef string int64
typedef Name Named
exception errors { 1: string Error, 2: string message = "e" }
union CountSetFields { 1: i32 CountSetFieldsCountSetFields, 2: int64 int64 }

service Shop {
  i32 get(1: i32 ctx, 2: i32 err, 3: string r, 4: string c, 5: string args, 6: string result, 7: rpc rpc, 8: context context, 9: base.Place base, 10: i32 type, 11: i32 Type)
      throws (1: errors Success, 2: errors err)
  i32 Get(1: i32 string, 2: i32 nil, 3: error error)
  void type(1: i32 h, 2: i32 s)
  Kind String()
  oneway void Error(1: types.Item types)
  string shop_client()
}

service Other extends Shop {
  i32 GET()
  i32 Type(1: list<i32> append)
}
