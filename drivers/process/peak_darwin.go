package process

// ownMemoryPeak is ownPeakRSS: macOS tells nothing else.
func ownMemoryPeak() int64 { return ownPeakRSS() }
