// Reads the versioned documents that Python writes: checks format and version, unpacks the similarity matrix.
// In: parsed JSON. Out: plain arrays. Offsets in a document count code points; JavaScript's strings do not.

const DOCUMENT_VERSIONS = { "evalign.alignment": 1, "evalign.corpus": 1, "evalign.likelihood": 1, "evalign.lstm": 1 };

/** Throws a sentence for a document that this page cannot draw; returns its format. */
export function checkFormat(doc) {
  const known = doc && typeof doc === "object" ? DOCUMENT_VERSIONS[doc.format] : undefined;
  if (known === undefined) {
    const names = Object.keys(DOCUMENT_VERSIONS).join(", ");
    throw new Error(`This is no evalign document: expected one of the formats ${names}.`);
  }
  if (doc.version !== known) {
    throw new Error(`This page reads version ${known} of ${doc.format}; the document has version ${doc.version}.`);
  }
  return doc.format;
}

/** The text as an array of code points, to be sliced by a document's offsets. */
export function codePoints(text) {
  return Array.from(text);
}

/** The matrix as numbers, and the sides and matchings beside it. */
export function decodeAlignment(doc) {
  if (checkFormat(doc) !== "evalign.alignment") throw new Error("Expected an alignment document.");
  const rows = doc.candidate.pieces.length;
  const columns = doc.reference.pieces.length;
  const matrix = Array.isArray(doc.similarity)
    ? Float32Array.from(doc.similarity.flat())
    : unpackMatrix(doc.similarity);
  if (matrix.length !== rows * columns) {
    throw new Error(`The similarity matrix has ${matrix.length} cells; ${rows} x ${columns} tokens need another size.`);
  }
  return {
    doc,
    rows,
    columns,
    matrix,
    candidate: doc.candidate,
    reference: doc.reference,
    matchings: doc.matchings,
    at: (i, j) => matrix[i * columns + j],
  };
}

/** Little-endian uint16 numbers between `low` and `high`, packed in base64. */
function unpackMatrix(packed) {
  const binary = atob(packed.uint16);
  const step = (packed.high - packed.low) / 65535;
  const matrix = new Float32Array(binary.length / 2);
  for (let place = 0; place < matrix.length; place += 1) {
    const number = binary.charCodeAt(2 * place) + 256 * binary.charCodeAt(2 * place + 1);
    matrix[place] = packed.low + number * step;
  }
  return matrix;
}
