package thriftidl

import "github.com/thrum-rpc/thrum/diag"

// didYouMean returns a hint that names the nearest candidate, with what has to
// stand before it, or "".
func didYouMean(before, name string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return "did you mean " + before + near + "?"
	}
	return ""
}
