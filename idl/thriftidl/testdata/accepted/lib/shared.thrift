include "other.thrift"
enum Level { LOW, HIGH }
const i64 LIMIT = other.LIMIT
struct Thing { 1: i64 id }
struct Mark {}
exception Lost {}
service Root { void root() }
