// SPDX-License-Identifier: GPL-3.0-or-later
// The workbench's own icons: monochrome SVGs on 24 px with one stroke width, tinted for the theme
// whenever they are drawn.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

class QPainter;
class QRectF;

namespace trainyard::ui {

// By file name in resources/icons, without ".svg". Follows the theme by itself; checked icons take
// the accent.
QIcon icon(const QString& name);

// The same in a colour of the caller's, for custom painting.
void paint_icon(QPainter& painter, const QString& name, const QRectF& where, const QColor& colour);

}  // namespace trainyard::ui
