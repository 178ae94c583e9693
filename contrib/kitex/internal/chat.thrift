// What Kitex and Thrum stream to each other in the tests.
namespace go chat

struct Note {
  1: string text
  2: i32 number
}

service Chat {
  Note echo(1: Note note) (streaming.mode = "bidirectional")
  Note count(1: Note note) (streaming.mode = "server")
  Note join(1: Note note) (streaming.mode = "client")
  // fail sends one note and fails in the way that the request's text names.
  Note fail(1: Note note) (streaming.mode = "server")
  Note plain(1: Note note)
}
