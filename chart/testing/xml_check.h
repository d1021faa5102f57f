#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// An element as the checker met it, with its attributes as written.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  ///< directly inside, entities resolved

  std::string attribute(std::string_view key) const;
};

/// Parses a document strictly as far as these tests' files need it: declaration, elements,
/// attributes, character data, the predefined and numeric entities. Anything else, and anything
/// that is not well-formed, throws std::runtime_error. Returns the elements in document order.
std::vector<XmlElement> parseXml(std::string_view document);

}  // namespace pipetrace
