package interop

import "testing"

// TestPeersAgree proves the list of calls and the peers themselves: each makes
// the calls to the other.
func TestPeersAgree(t *testing.T) {
	python, java := pythonPeer(t), javaPeer(t)
	all, shop := loadCalls(t), loadShop(t)
	for _, pair := range [][2]peer{{python, java}, {java, python}} {
		client, server := pair[0], pair[1]
		for _, w := range []wiring{{"framed", "binary", ""}, {"unframed", "binary", "Shop"}, {"framed", "compact", ""}} {
			t.Run(client.name+" calls "+server.name+" "+w.String(), func(t *testing.T) {
				calls := server.able(asServer, w, all)
				port, _ := server.serve(t, calls, w)
				for i, got := range client.call(t, calls, port, w) {
					compare(t, shop, calls[i], got)
				}
			})
		}
	}
}
