// The arithmetic behind the charts: quantiles and histograms as numpy's, densities for violins, percentiles, ticks of
// an axis. Pure functions.

const NUMBER_GRID = 128; // points of a violin's outline
const NUMBER_FINE = 512; // cells that values are binned into before their density is computed, so that 10,000 rows stay fast

/** The finite numbers of a list, in rising order. */
export function sortedNumbers(values) {
  return Float64Array.from(values).filter(Number.isFinite).sort();
}

/** A quantile by linear interpolation between order statistics. */
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** The sum of a list by Neumaier's compensated summation. */
export function exactSum(values) {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/** Round edges of about `count` bins around all values; at least one bin. */
export function binEdges(sorted, count) {
  if (!sorted.length) return [0, 1];
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  const step = roundStep(high > low ? (high - low) / count : Math.abs(high) / 20 || 0.1);
  const edge = (place) => Number((place * step).toPrecision(12));
  const air = high > low ? 0 : 2; // a single value stands in the middle of a few bins
  let first = Math.floor(low / step) - air;
  let last = Math.max(Math.ceil(high / step), first + air + 1) + air;
  while (edge(first) > low) first -= 1; // divisions round: no value may fall off the ends
  while (edge(last) < high) last += 1;
  return Array.from({ length: last - first + 1 }, (_none, place) => edge(first + place));
}

/** How many values lie in each bin; a value on an inner edge belongs above it, one on the last edge below it. */
export function binCounts(sorted, edges) {
  const counts = new Array(edges.length - 1).fill(0);
  let bin = 0;
  for (const value of sorted) {
    if (value < edges[0]) continue;
    while (bin < counts.length - 1 && value >= edges[bin + 1]) bin += 1;
    if (value <= edges[bin + 1]) counts[bin] += 1;
  }
  return counts;
}

/** The density of values between their extremes, for a violin: {x, y} with the highest y being 1. */
export function densityOf(sorted) {
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  if (!sorted.length || !(high > low)) return { x: [low, high], y: [1, 1] };
  const width = kernelWidth(sorted);
  const cells = new Float64Array(NUMBER_FINE);
  const scale = (NUMBER_FINE - 1) / (high - low);
  for (const value of sorted) cells[Math.round((value - low) * scale)] += 1;
  const x = Array.from({ length: NUMBER_GRID }, (_none, place) => low + ((high - low) * place) / (NUMBER_GRID - 1));
  const y = x.map((at) => {
    let sum = 0;
    for (let cell = 0; cell < NUMBER_FINE; cell += 1) {
      if (cells[cell]) sum += cells[cell] * Math.exp(-0.5 * ((at - low - cell / scale) / width) ** 2);
    }
    return sum;
  });
  const most = Math.max(...y);
  return { x, y: y.map((value) => value / most) };
}

/** The place of each value among all: 0 the lowest, 100 the highest, ties share their mean place, 50 if alone. */
export function percentiles(values) {
  const order = values.map((_value, index) => index).sort((first, second) => values[first] - values[second]);
  const places = new Array(values.length).fill(50);
  if (values.length < 2) return places;
  for (let start = 0; start < order.length;) {
    let stop = start;
    while (stop < order.length && values[order[stop]] === values[order[start]]) stop += 1;
    for (let place = start; place < stop; place += 1) {
      places[order[place]] = ((start + stop - 1) / 2 / (values.length - 1)) * 100;
    }
    start = stop;
  }
  return places;
}

/** Round values for the ticks of an axis. */
export function axisTicks(low, high, count) {
  const step = roundStep((high - low) / Math.max(count, 1));
  const ticks = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place += 1) {
    ticks.push(Number((place * step).toPrecision(12)));
  }
  return ticks;
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return Number(
    ((share <= 1.0001 ? 1 : share <= 2 ? 2 : share <= 2.5 ? 2.5 : share <= 5 ? 5 : 10) * power).toPrecision(12),
  );
}

/** Silverman's rule, with a floor so that many equal values do not become a single spike. */
function kernelWidth(sorted) {
  const mean = exactSum(sorted) / sorted.length;
  const deviation = Math.sqrt(exactSum(sorted.map((value) => (value - mean) ** 2)) / sorted.length);
  const middle = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
  const spread = Math.min(deviation, middle || deviation);
  return Math.max(0.9 * spread * sorted.length ** -0.2, (sorted[sorted.length - 1] - sorted[0]) / 200);
}
