// Methods that stream, as Kitex's annotation has it.
namespace go golden.streams

struct Note {
  1: string text
  2: i32 number
}

struct Sum {
  1: i64 total
}

exception Full {
  1: i32 limit
}

service Base {
  // Both sides send at once.
  Note echo(1: Note note) (streaming.mode = "bidirectional")
}

service Notes extends Base {
  // count sends so many notes.
  Note count(1: Note note) (streaming.mode = "server")
  // add ends when the sum is too large.
  Sum add(1: Note note) throws (1: Full full) (streaming.mode = "client")
  Note last(1: Note note) (streaming.mode = "unary")
  string name()
}
