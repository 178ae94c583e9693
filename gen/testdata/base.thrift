/** What the other files of the test share. */
namespace go golden.base

typedef i64 UserId

enum Level { LOW = 1, HIGH = 5 }

/**
 * A place.
 *
 * It has a latitude by default:
 *   1.5
 */
struct Place {
  1: double lat = 1.5
  2: double lng           // east is positive
}

const i32 MAX = 10
const list<string> WORDS = ["a", "b"]

exception Broken { 1: string message }

/** What every service answers. */
service Base {
  /** Says hello. */
  string hello(1: string name) throws (1: Broken broken)
  void ping()
}
