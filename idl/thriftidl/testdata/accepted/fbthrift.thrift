// What fbthrift adds to the language.
@Tag{name = "package"}
package "example.com/demo/fb";

include "lib/shared.thrift"

namespace hack "fb_demo"

@scope.Struct
struct Tag {
  1: string name
  2: i32 weight = 1
  3: list<string> more
  4: optional shared.Thing thing
}

typedef Tag Alias

@Tag{name = "on a const"}
const i32 BITS = 0b101

const i32 SPACED = - 5

@Tag{name = "struct", more = ["a", "b"], thing = shared.Thing{id = 7}}
@Alias
struct Noted {
  @Tag{name = "field"}
  1: i32 id; ///< the id
  @shared.Mark
  2: optional string name
}

@Tag{name = "enum"}
enum Noisy {
  @Tag{name = "value"}
  A = 1, ///< the first
  B = 2;
}

@Tag
/** A doc comment behind the annotation. */
typedef string Name

safe permanent client exception Bad {
  1: string why
}

@Tag
service Streams {
  @Tag{name = "method"}
  stream<i32> numbers(@Tag{name = "argument"} 1: i32 count)
  i32, stream<Noted throws (1: Bad bad)> counted() throws (2: Bad early)
  sink<i32, string> upload()
  Noted, sink<i32 throws (1: Bad client), string throws (1: Bad server)> both()
  sink<i32>, stream<string> chat()
  idempotent i32 again()
  readonly Noted look(1: idempotent_type x)
  void stream(1: i32 sink)
}

typedef i32 idempotent_type
