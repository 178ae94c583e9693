package cluster

// Last reports whether nothing more is put up with: if this pick finds no address, its call has none.
func (p Pick) Last() bool { return p.level == failed }
