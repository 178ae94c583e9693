package codecsuite

// This file holds the variant "static": the methods that our generator writes
// for who may not use unsafe.

// staticCode is what `thrum gen --static` generates for *S.
type staticCode[S any] interface {
	*S
	SizeThrift() (int, error)
	AppendThrift(dst []byte) ([]byte, error)
	UnmarshalThrift(b []byte) (int, error)
}

// staticContender works on the value of a message; S is the static code's type
// for T's struct.
func staticContender[T, S any, P staticCode[S]](message []byte) (contender[T], error) {
	value := P(new(S))
	_, err := value.UnmarshalThrift(message)
	return contender[T]{
		name: "static", mode: "copy", wire: binaryWire, ours: true,
		marshal: func() (func(int) ([]byte, error), error) {
			var buf []byte
			return func(n int) ([]byte, error) {
				for range n {
					size, err := value.SizeThrift()
					if err != nil {
						return nil, err
					}
					if size > cap(buf) {
						buf = make([]byte, 0, size)
					}
					if buf, err = value.AppendThrift(buf[:0]); err != nil {
						return nil, err
					}
				}
				return buf, nil
			}, nil
		},
		unmarshal: func(b []byte) (func(int) (any, error), error) {
			v := P(new(S))
			return func(n int) (any, error) {
				for range n {
					*v = *new(S)
					if took, err := v.UnmarshalThrift(b); err != nil {
						return nil, err
					} else if took != len(b) {
						return nil, errRest
					}
				}
				return v, nil
			}, nil
		},
	}, err
}
