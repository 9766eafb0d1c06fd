package operations_test

type storeStat struct {
	Running bool   `json:"running"`
	Events  uint64 `json:"events"`
	Head    uint64 `json:"head"`
}
