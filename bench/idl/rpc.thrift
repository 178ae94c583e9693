// What the servers of the suite rpc answer.
namespace go calls
namespace cpp calls

service Bench {
  void noop()
  binary echo(1: binary data)
  // Keeps a processor busy for a time in microseconds.
  void burn(1: i32 micros)
}
