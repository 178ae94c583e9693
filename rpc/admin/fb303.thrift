// The part of fb303 that package admin serves.
namespace go fb303

enum fb_status {
  DEAD = 0,
  STARTING = 1,
  ALIVE = 2,
  STOPPING = 3,
  STOPPED = 4,
  WARNING = 5,
}

service FacebookService {
  // A name for what the process is.
  string getName()
  // The version of its program.
  string getVersion()
  // Whether calls should come here: only if it is ALIVE.
  fb_status getStatus()
  // Why it is not ALIVE, a line for each reason.
  string getStatusDetails()
  // What it has counted, such as "shop.calls".
  map<string, i64> getCounters()
  // One of these, 0 if there is none of the name.
  i64 getCounter(1: string key)
  // When it started, in seconds since 1970.
  i64 aliveSince()
}
