package enter

// AVX2 reports whether the processor has AVX2 and the system keeps its registers.
func AVX2() bool {
	const osxsave, avx, avx2 = 1 << 27, 1 << 28, 1 << 5
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	if c&osxsave == 0 || c&avx == 0 || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

// PDEP reports whether the processor has BMI2 and does PDEP in a few cycles. AMD's did not before Zen 3.
func PDEP() bool {
	const bmi2, auth, zen3 = 1 << 8, 0x68747541, 0x19
	most, vendor, _, _ := cpuid(0, 0)
	if most < 7 {
		return false
	}
	version, _, _, _ := cpuid(1, 0)
	family := version>>8&15 + version>>20&255
	_, b, _, _ := cpuid(7, 0)
	return b&bmi2 != 0 && (vendor != auth || family >= zen3)
}

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv returns the low half of the register that says which registers the system keeps.
func xgetbv() uint32
