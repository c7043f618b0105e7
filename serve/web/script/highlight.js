// highlight.js - colors of code that fit most languages: comments, strings, numbers, keywords.

const MAX_HIGHLIGHT_BYTES = 40000;

const HASH_COMMENTS =
  /^(?:py|python|sh|bash|zsh|shell|console|ruby|rb|yaml|yml|toml|ini|r|perl|pl|make|makefile|dockerfile|cmake|conf)$/i;
const DASH_COMMENTS = /^(?:sql|lua|haskell|hs|ada|elm)$/i;
const MARKUP = /^(?:html|xml|svg|vue)$/i;
const NO_COLORS = /^(?:|text|txt|plain|plaintext|output|log|markdown|md)$/i;

const KEYWORDS = new Set(("abstract and as async await bool boolean break case catch char class const constexpr continue def " +
  "default defer delete do double elif else end enum except export extends extern false False final finally float fn for " +
  "foreach from func function global go goto if impl implements import in include inline instanceof int interface is " +
  "lambda let local long loop match mod module mut namespace new nil None not null nullptr of operator or override " +
  "package pass private protected pub public raise register return self short signed sizeof static string struct super " +
  "switch template then this throw throws trait true True try type typedef typename typeof undefined union unsigned " +
  "unsafe use using var virtual void volatile when where while with yield select insert update create table join on " +
  "group by order having limit values into set primary key fi done esac echo").split(" "));

function tokenPattern(language) {
  const comment = HASH_COMMENTS.test(language) ? "#[^\\n]*" : DASH_COMMENTS.test(language) ? "--[^\\n]*"
    : MARKUP.test(language) ? "<!--[\\s\\S]*?-->" : "//[^\\n]*|/\\*[\\s\\S]*?\\*/";
  const string = "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`";
  return new RegExp(`(?<comment>${comment})|(?<string>${string})|` +
    "(?<number>\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)|(?<word>[A-Za-z_]\\w*)", "g");
}

// Appends the code to the element, with spans around tokens.
function highlightCode(element, code, language) {
  if (code.length > MAX_HIGHLIGHT_BYTES || NO_COLORS.test(language)) {
    element.append(code);
    return;
  }
  let plain = 0;
  const add = (match, kind) => {
    element.append(code.slice(plain, match.index), el("span", { className: `code-${kind}` }, match[0]));
    plain = match.index + match[0].length;
  };
  const isSql = /^sql$/i.test(language);
  for (const match of code.matchAll(tokenPattern(language))) {
    const { comment, string, number, word } = match.groups;
    if (comment !== undefined) add(match, "comment");
    else if (string !== undefined) add(match, "string");
    else if (number !== undefined) add(match, "number");
    else if (KEYWORDS.has(isSql ? word.toLowerCase() : word)) add(match, "keyword");
  }
  element.append(code.slice(plain));
}
