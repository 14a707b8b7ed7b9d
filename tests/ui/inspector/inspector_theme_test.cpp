// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector in both themes.
#include <QToolButton>

#include "tests/ui/inspector/inspector_fixture.h"
#include "tests/ui/pictures.h"
#include "ui/inspector/section.h"

namespace trainyard::ui {
namespace {

class InspectorTheme : public InspectorTest {
 protected:
  ~InspectorTheme() override { Theme::instance().apply(Theme::Kind::light); }

  // Right of its icon, which has the color of the theme.
  static QImage words_of(Section& section) {
    const auto* heading = section.findChild<QToolButton*>(QString(), Qt::FindDirectChildrenOnly);
    return section.grab(heading->geometry().adjusted(heading->iconSize().width() + kGrid, 0, 0, 0))
        .toImage();
  }
};

TEST_F(InspectorTheme, headings_are_readable_after_every_change) {
  const auto sections = inspector_.findChildren<Section*>();
  ASSERT_EQ(sections.size(), 7);
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light, Theme::Kind::dark}) {
    Theme::instance().apply(kind);
    QCoreApplication::processEvents();
    for (Section* section : sections)
      EXPECT_GE(test::text_contrast(words_of(*section)), test::kReadable)
          << Theme::instance().dark();
  }
}

TEST_F(InspectorTheme, headings_are_readable_after_a_change_from_dark_to_light) {
  Theme::instance().apply(Theme::Kind::dark);
  Inspector late(document_, selection_);
  late.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&late));
  Theme::instance().apply(Theme::Kind::light);
  QCoreApplication::processEvents();
  for (Section* section : late.findChildren<Section*>())
    EXPECT_GE(test::text_contrast(words_of(*section)), test::kReadable);
}

}  // namespace
}  // namespace trainyard::ui
