package answer

import (
	_ "embed"
	"encoding/json"
)

// The networks. TestFit writes their weights.
var (
	rankNetwork   = networks["rank"].network()
	spanNetwork   = networks["span"].network()
	rerankNetwork = networks["rerank"].network()
	confNetwork   = networks["conf"].network()
)

//go:embed weights.json
var weights []byte

// stored is a network as weights.json has it.
type stored struct {
	Inputs  int       `json:"inputs"`
	Weights []float64 `json:"weights"`
	Slots   []byte    `json:"slots,omitempty"` // int8, in units of slotStep
}

// slotStep is the unit of the weights of slots. They are rounded to it, so that they need a
// byte each.
const slotStep = 1.0 / 100

var networks = func() (all map[string]stored) {
	if err := json.Unmarshal(weights, &all); err != nil {
		panic("weights.json: " + err.Error())
	}
	return all
}()

func (s stored) network() network {
	n := network{inputs: s.Inputs, weights: s.Weights}
	if len(s.Slots) > 0 {
		n.slots = make([]float64, len(s.Slots))
		for i, b := range s.Slots {
			n.slots[i] = float64(int8(b)) * slotStep
		}
	}
	return n
}
