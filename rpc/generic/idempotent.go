package generic

import "github.com/thrum-rpc/thrum/schema"

// This file holds what the IDL says of repeating calls.

// Idempotent returns the names of the methods of s, inherited ones too, that
// may run more than once for one call, as their IDL says:
//
//	i64 stock(1: string title) (idempotent)
//
// The annotation may have a value; "false" and "0" take it back. A client of many addresses gets the
// names by cluster.Idempotent.
func Idempotent(s *schema.Service) []string {
	var names []string
	for _, m := range s.AllMethods() {
		a, ok := m.Annotations().Get("idempotent")
		if ok && !(a.HasValue && (a.Value == "false" || a.Value == "0")) {
			names = append(names, m.Name())
		}
	}
	return names
}
