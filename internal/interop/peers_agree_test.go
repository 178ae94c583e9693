package interop

import "testing"

// TestPeersAgree proves the list of calls and the peers themselves, without
// Thrum between them: each calls another, and is called by one.
func TestPeersAgree(t *testing.T) {
	python, java, node, cpp := pythonPeer(t), javaPeer(t), nodePeer(t), cppPeer(t)
	all, shop := loadCalls(t), loadShop(t)
	wirings := []wiring{{"framed", "binary", ""}, {"unframed", "binary", "Shop"}, {"framed", "compact", ""}, {"http", "binary", ""}}
	if testing.Short() {
		wirings = wirings[3:]
	}
	for _, pair := range [][2]peer{{python, java}, {java, python}, {node, cpp}, {cpp, node}} {
		client, server := pair[0], pair[1]
		for _, w := range wirings {
			t.Run(client.name+" calls "+server.name+" "+w.String(), func(t *testing.T) {
				calls := client.able(asClient, w, server.able(asServer, w, all))
				port, _ := server.serve(t, calls, w)
				for i, got := range client.call(t, calls, port, w) {
					compare(t, shop, calls[i], got)
				}
			})
		}
	}
}
