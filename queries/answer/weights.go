package answer

var rankWeights = [rankFeatures]float64{rankCovered: 8, rankContext: 3, rankBefore: 2, rankPassage: 2, rankPairs: 2, rankFits: 1, rankScore: 2}

var spanWeights = [spanFeatures]float64{}

var sureWeights = [sureFeatures]float64{}
