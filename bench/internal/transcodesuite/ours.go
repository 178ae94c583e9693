package transcodesuite

import (
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/transcode"
)

// jsonThrift are the works json-to-thrift and thrift-to-json.
func jsonThrift() ([]harness.Group, error) {
	all, err := shapes()
	if err != nil {
		return nil, err
	}
	var from, to []harness.Group
	for _, s := range all {
		if !s.kitex {
			peers := append(dynamicgoFromJSON(s), s.sonicPeer(s.json, s.sonic.toThrift), kitexFromJSON(s))
			if s.limit.fromJSON != nil {
				peers = append(peers, s.limit.contender(s.json, s.limit.fromJSON))
			}
			from = append(from, group("json-to-thrift", s.name, len(s.message), same.Message, oursFromJSON(s), peers...))
		}
		peers := append(dynamicgoToJSON(s), s.sonicPeer(s.message, s.sonic.toJSON), kitexToJSON(s))
		if s.limit.toJSON != nil {
			peers = append(peers, s.limit.contender(s.message, s.limit.toJSON))
		}
		to = append(to, group("thrift-to-json", s.name, len(s.message), s.value, oursToJSON(s), peers...))
	}
	return append(from, to...), nil
}

// ours makes our contender, which converts in with do.
func ours(s *shape, do func(c *transcode.Converter, dst []byte) ([]byte, error)) contender {
	return contender{harness.Ours, func() (op, error) {
		c, err := transcode.New(s.def)
		buf := make([]byte, 0, 2*len(s.json))
		return func() (_ []byte, err error) {
			buf, err = do(c, buf[:0])
			return buf, err
		}, err
	}}
}

func oursFromJSON(s *shape) contender {
	return ours(s, func(c *transcode.Converter, dst []byte) ([]byte, error) { return c.AppendThrift(dst, s.json) })
}

func oursToJSON(s *shape) contender {
	return ours(s, func(c *transcode.Converter, dst []byte) ([]byte, error) {
		out, _, err := c.AppendJSON(dst, s.message)
		return out, err
	})
}
