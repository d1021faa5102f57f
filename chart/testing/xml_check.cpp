#include "chart/testing/xml_check.h"

#include <cctype>
#include <set>
#include <stdexcept>

#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view document) : rest_(document) {
    checkCharacters(document);
    expect("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    skipBlanks();
    element();
    skipBlanks();
    if (!rest_.empty()) fail("something follows the root element");
  }

  std::vector<XmlElement> elements;

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at: " + std::string(rest_.substr(0, 40)));
  }

  void checkCharacters(std::string_view text) const {
    while (!text.empty()) {
      const bool isReplacement = text.substr(0, 3) == "\xEF\xBF\xBD";
      const char32_t c = takeCharacter(text);
      if (c == kReplacementCharacter && !isReplacement) fail("invalid UTF-8");
      if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') fail("a control character");
    }
  }

  bool take(std::string_view token) {
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected " + std::string(token));
  }
  bool skipBlanks() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
      rest_.remove_prefix(1);
    }
    return rest_.size() != before;
  }

  std::string name() {
    std::size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 ||
                                rest_[n] == '-' || rest_[n] == '_' || rest_[n] == ':')) {
      ++n;
    }
    if (n == 0 || std::isalpha(static_cast<unsigned char>(rest_[0])) == 0) fail("no name");
    const std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return text;
  }

  /// Takes the text up to `stop`, but not `stop` itself.
  std::string characters(char stop) {
    static const std::pair<const char*, const char*> kEntities[] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    std::string text;
    while (true) {
      if (rest_.empty()) fail("unexpected end");
      if (rest_[0] == stop) return text;
      if (rest_[0] == '<') fail("a bare <");
      if (rest_[0] != '&') {
        text += rest_[0];
        rest_.remove_prefix(1);
        continue;
      }
      bool isKnown = false;
      for (const auto& [entity, character] : kEntities) {
        if (!isKnown && take(entity)) {
          text += character;
          isKnown = true;
        }
      }
      if (!isKnown) fail("a bare & or an unknown entity");
    }
  }

  void element() {
    expect("<");
    const std::size_t index = elements.size();
    elements.emplace_back();
    elements[index].name = name();
    std::set<std::string> seen;
    while (skipBlanks() && !rest_.empty() && rest_[0] != '>' && rest_[0] != '/') {
      const std::string key = name();
      if (!seen.insert(key).second) fail("attribute twice");
      expect("=\"");
      elements[index].attributes.emplace_back(key, characters('"'));
      expect("\"");
    }
    if (take("/>")) return;
    expect(">");
    while (true) {
      elements[index].text += characters('<');
      if (take("</")) break;
      element();
    }
    expect(elements[index].name);
    expect(">");
  }

  std::string_view rest_;
};

}  // namespace

std::string XmlElement::attribute(std::string_view key) const {
  for (const auto& [attributeName, value] : attributes) {
    if (attributeName == key) return value;
  }
  return {};
}

std::vector<XmlElement> parseXml(std::string_view document) { return Parser(document).elements; }

}  // namespace pipetrace
