// A second file of the package of base.thrift, and one that it does not know.
include "base.thrift"
namespace go golden.base

struct Route { 1: list<base.Place> places, 2: base.Level level = base.Level.LOW }

service Routes extends base.Base {
  Route find(1: base.UserId user)
}
