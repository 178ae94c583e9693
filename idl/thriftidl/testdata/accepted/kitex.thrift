// What Kitex says by annotations.
struct Note {
  1: string text
}

typedef Note Alias

exception Refused {}

service Chat {
  Note echo(1: Note note) (streaming.mode = "bidirectional")
  Note count(1: Alias note) throws (1: Refused refused) (streaming.mode = "server", api.get = "/count")
  Alias join(1: Note note) (streaming.mode = "client")
  i32 once(1: Note a, 2: Note b) (streaming.mode = "unary")
}
