package answer

import "math"

// network scores feature vectors: a linear function of the features, plus a layer of
// hidden units, each with the hyperbolic tangent as activation. The hidden layer lets a
// feature count differently for different kinds of questions.
type network struct {
	inputs  int
	slots   []float64 // weights of patterns of words, by slot; nil if the network has none
	weights []float64 // linear weights; then for each hidden unit its output weight, its bias and its input weights
}

func (n *network) score(x []float64) float64 {
	sum := dot(n.weights[:n.inputs], x)
	for at := n.inputs; at < len(n.weights); at += n.inputs + 2 {
		sum += n.weights[at] * math.Tanh(n.weights[at+1]+dot(n.weights[at+2:at+2+n.inputs], x))
	}
	return sum
}

// patterned returns the sum of the weights of some slots.
func (n *network) patterned(at []uint16) float64 {
	sum := 0.0
	for _, s := range at {
		sum += n.slots[s]
	}
	return sum
}
