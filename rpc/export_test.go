package rpc

// Connections returns the number of open connections of s.
func Connections(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
